import type { Ref } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** How long typing must pause before the text is reported, in milliseconds. */
const typingMs = 200

interface TypedFieldProps {
  id: string
  value: string
  onType(text: string): void
  type?: 'text' | 'search'
  list?: string
  placeholder?: string
  inputRef?: Ref<HTMLInputElement>
}

/** A text field that reports its text when typing pauses. */
export function TypedField({ value, onType, inputRef, ...others }: TypedFieldProps) {
  const [text, setText] = useState(value)
  const timer = useRef<number | undefined>(undefined)
  useEffect(() => setText(value), [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const type = (typed: string) => {
    setText(typed)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onType(typed), typingMs)
  }
  return (
    <input
      type="text"
      {...others}
      ref={inputRef}
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={({ currentTarget }) => type(currentTarget.value)}
    />
  )
}

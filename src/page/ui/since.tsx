import { signal, useComputed } from '@preact/signals'
import { ago } from '../data/format.ts'

const tickMs = 1_000
let timer: number | undefined

/** A counter that increases only while a component uses it. */
const ticks = signal(0, {
  watched() {
    timer = setInterval(() => ticks.value++, tickMs)
  },
  unwatched() {
    clearInterval(timer)
  },
})

/** Shows how long ago something happened. The text is kept up to date. */
export function Since({ iso, title }: { iso: string; title?: string }) {
  const text = useComputed(() => {
    ticks.value
    return ago(iso)
  })
  return (
    <time dateTime={iso} title={title}>
      {text}
    </time>
  )
}

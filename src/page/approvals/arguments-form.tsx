import { useMemo, useRef, useState } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { messageOf } from '../data/api.ts'
import { Diff } from '../run/diff.tsx'
import { escapedJson, hiddenPart } from '../ui/hidden-text.ts'
import { useNewId } from '../ui/new-id.ts'
import { Form, type FormProps } from './form.tsx'
import { hiddenIn, isLarge, splitLarge } from './large-values.ts'

type Arguments = Record<string, unknown>

/** The initial text of the field. */
export function editable(args: Arguments): string {
  return escapedJson(JSON.stringify(splitLarge(args).small, null, 2))
}

/** Approves a call with other arguments. Arguments too large for the field keep their value, unless the field contains another. */
export function ArgumentsForm({ decision, errorId, submit }: FormProps) {
  const { text, error, item } = decision
  const { small, large } = useMemo(() => splitLarge(item.args), [item])
  const input = useRef<HTMLTextAreaElement>(null)
  const [isInvalid, setIsInvalid] = useState(false)
  const [fieldId, noteId] = [useNewId(), useNewId()]
  const [rows] = useState(() => Math.min(14, text.value.split('\n').length + 1))
  const send = async () => {
    const written = text.value
    error.value = ''
    setIsInvalid(false)
    try {
      const args = await read(written, large)
      await submit({ approved: true, ...(isSame(JSON.parse(written), small) ? {} : { args }) }, 'Approved')
    } catch (thrown) {
      error.value = messageOf(thrown)
      setIsInvalid(true)
      input.current?.focus()
    }
  }
  return (
    <Form verb="Approve with these arguments" kind="primary" send={send} back={() => decision.open('choice')}>
      <div class="field">
        <label for={fieldId}>Arguments, as JSON</label>
        <textarea
          ref={input}
          id={fieldId}
          rows={rows}
          class="code"
          spellcheck={false}
          aria-describedby={`${noteId} ${errorId}`}
          aria-invalid={isInvalid ? 'true' : undefined}
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value
          }}
        />
        <p id={noteId} class="hint" hidden={Object.keys(large).length === 0}>
          {`${tooLarge(Object.keys(large))} too large to edit here. What you don’t name in the field stays as it is.`}
        </p>
        <div class="decision-changes">
          <Changes text={text.value} asked={small} />
        </div>
      </div>
    </Form>
  )
}

/** Reads the edited arguments and adds those that were too large to edit. Throws an `Error` if they can't be used. */
async function read(text: string, large: Arguments): Promise<Arguments> {
  const given: unknown = JSON.parse(text)
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Error('Expected a JSON object')
  const kept = Object.fromEntries(Object.entries(large).filter(([name]) => !Object.hasOwn(given, name)))
  const hidden = hiddenPart(text) ?? (await hiddenIn(kept))
  if (hidden !== undefined) throw new Error(`Replace ${hidden} with the actual value`)
  return { ...given, ...kept }
}

function tooLarge(names: string[]): string {
  if (names.length > 3) return `${names.length.toLocaleString()} arguments are`
  return `${names.map(visibleLines).join(', ')}: ${names.length > 1 ? 'are' : 'is'}`
}

/** Shows how the edited arguments differ from the requested ones before they are sent. Shows nothing while they can't be read. */
function Changes({ text, asked }: { text: string; asked: Arguments }) {
  const args = useMemo(() => {
    try {
      return JSON.parse(text) as unknown
    } catch {
      return asked
    }
  }, [text, asked])
  if (isSame(args, asked)) return null
  if (isLarge(args)) return <p class="muted">Too large to show what has changed</p>
  return (
    <>
      <p class="muted">Changes</p>
      <Diff before={asked} after={args} label="Changes" />
    </>
  )
}

function isSame(args: unknown, asked: unknown): boolean {
  return JSON.stringify(args) === JSON.stringify(asked)
}

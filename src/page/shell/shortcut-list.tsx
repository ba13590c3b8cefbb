import { useState } from 'preact/hooks'
import { showDialog } from '../ui/dialog.tsx'
import { places } from './places.ts'

const list: [keys: string[], words: string][] = [
  ...places.map(({ key, words }): [string[], string] => [['g', key], words]),
  [['j'], 'Next run, or next call that waits'],
  [['k'], 'Previous run, or previous call that waits'],
  [['a', 'Ctrl Enter'], 'Approve the call you have chosen; ⌘ Enter on a Mac'],
  [['e'], 'Edit its arguments'],
  [['r'], 'Reject it'],
  [['x'], 'Select it, to decide on many at once'],
  [['/'], 'Filter, or write a message'],
  [['Esc'], 'Close, or go back to the list'],
  [['Ctrl', 'K'], 'Find views, runs, tools and actions; ⌘ K on a Mac'],
  [['?'], 'Keyboard shortcuts'],
]

/** Lists all shortcuts. Calls `setOn` when the user turns shortcuts on or off. */
export async function showShortcutList(isOn: boolean, setOn: (isOn: boolean) => void): Promise<void> {
  await showDialog((close) => <ShortcutList isOn={isOn} setOn={setOn} onClose={close} />, { labelledBy: 'shortcuts-title' })
}

function ShortcutList({ isOn, setOn, onClose }: { isOn: boolean; setOn(isOn: boolean): void; onClose: () => void }) {
  const [on, setChecked] = useState(isOn)
  const toggle = () => {
    setOn(!on)
    setChecked(!on)
  }
  return (
    <>
      <h2 id="shortcuts-title">Keyboard shortcuts</h2>
      <dl class="shortcuts">
        {list.map(([keys, words]) => (
          <div key={words}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <p class="check-row">
        <input id="shortcuts-on" type="checkbox" checked={on} onChange={toggle} />
        <label for="shortcuts-on">Enable single-key shortcuts</label>
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </>
  )
}

import { type Signal, signal } from '@preact/signals'

/** Creates a signal whose value is stored in this browser. `check` validates the stored value and returns the value to use. */
export function storedSignal<Value>(name: string, check: (value: unknown) => Value): Signal<Value> {
  const key = `toolloop.${name}`
  const first = check(read(key))
  const kept = signal(first)
  kept.subscribe((value) => {
    if (value === first) return
    try {
      localStorage.setItem(key, JSON.stringify(value))
    } catch {
      // The storage of the browser is full, so the value is kept only while the page is open.
    }
  })
  return kept
}

function read(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null')
  } catch {
    return null
  }
}

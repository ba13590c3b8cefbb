import { type Signal, signal } from '@preact/signals'

/** A value that this browser remembers, for all its tabs that are opened later. `check` returns the value if it is usable. */
export function storedSignal<Value>(name: string, check: (value: unknown) => Value): Signal<Value> {
  const key = `toolloop.${name}`
  const first = check(read(key))
  const kept = signal(first)
  kept.subscribe((value) => {
    if (value === first) return
    try {
      localStorage.setItem(key, JSON.stringify(value))
    } catch {
      // There is no space, so the value is kept only while the page is open.
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

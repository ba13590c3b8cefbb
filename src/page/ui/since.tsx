import { signal, useComputed } from '@preact/signals'
import { ago } from '../data/format.ts'

const tickMs = 1_000
let timer: number | undefined

/** Goes on with the time, as long as somebody looks. */
const ticks = signal(0, {
  watched() {
    timer = setInterval(() => ticks.value++, tickMs)
  },
  unwatched() {
    clearInterval(timer)
  },
})

/** For how long something has been as it is: a text that goes on with the time. */
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

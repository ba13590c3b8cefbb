/** Minimum pause between announcements, in milliseconds, so that users can listen to other things. */
const pauseMs = 1_500

let waiting: string[] = []
let timer: number | undefined

/** Announces a text to screen readers after the current announcement. If many texts are waiting, only the latest are announced. */
export function announce(text: string): void {
  waiting = [...waiting.slice(-2), text]
  if (timer === undefined) timer = setTimeout(speak, 50)
}

function speak(): void {
  const place = document.getElementById('announcements')
  if (waiting.length === 0) {
    timer = undefined
    return
  }
  if (place !== null) place.textContent = waiting.join('. ')
  waiting = []
  timer = setTimeout(speak, pauseMs)
}

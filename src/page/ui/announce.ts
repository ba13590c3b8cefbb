/** Not more often than that: whoever listens wants to get a word in as well. */
const pauseMs = 1_500

let waiting: string[] = []
let timer: number | undefined

/** Says something to screen readers, when they have finished what they are saying. Of many things at once the latest are said. */
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

import { parentPort, workerData } from 'node:worker_threads'

/** What the thread is started with. */
export interface RegexWorkerData {
  source: string
  flags: string
}

/** A matching line: its index in the text, and where in it the match begins. */
export interface FoundLine {
  line: number
  at: number
}

/** The thread of a search by regular expression: gets texts, answers each with the matching lines, in order. */
function findLines(regex: RegExp, text: string): FoundLine[] {
  const found: FoundLine[] = []
  const lines = text.split('\n')
  // After the last line break there is no further line.
  if (lines.at(-1) === '') lines.pop()
  for (const [line, content] of lines.entries()) {
    const match = regex.exec(content.endsWith('\r') ? content.slice(0, -1) : content)
    if (match !== null) found.push({ line, at: match.index })
  }
  return found
}

const { source, flags } = workerData as RegexWorkerData
const regex = new RegExp(source, flags)
parentPort?.on('message', (text: string) => parentPort?.postMessage(findLines(regex, text)))

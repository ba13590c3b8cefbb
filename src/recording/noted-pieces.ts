import type { ModelSink } from '../models/chat-model.ts'
import type { RecordedPieces } from './format.ts'

/** Records the chunks of one streamed response while they are passed to a sink. */
export class NotedPieces {
  #pieces: RecordedPieces[] = []
  #isOver = false

  /** Wraps a sink so that its chunks are recorded. */
  noting(sink: ModelSink = {}): ModelSink {
    let isGiven = false
    const note = (add: () => void): void => {
      isGiven = true
      if (!this.#isOver) add()
    }
    return {
      ...sink,
      text: (delta) => {
        note(() => this.#addText('text', delta))
        sink.text?.(delta)
      },
      reasoning: (delta) => {
        note(() => this.#addText('reasoning', delta))
        sink.reasoning?.(delta)
      },
      toolCallStart: (index, id, name) => {
        note(() => this.add(['call', index, id, name]))
        sink.toolCallStart?.(index, id, name)
      },
      toolCallDelta: (index, json) => {
        note(() => this.#addArguments(index, json))
        sink.toolCallDelta?.(index, json)
      },
      restart: (retries) => {
        const isForgotten = sink.restart?.(retries) ?? !isGiven
        if (isForgotten) this.#pieces = []
        return isForgotten
      },
    }
  }

  /**
   * Stops recording and returns the recorded chunks. A model may continue to stream after its request has ended; these chunks are not
   * recorded.
   */
  end(): RecordedPieces[] {
    this.#isOver = true
    return this.#pieces
  }

  /** Adds chunks. Consecutive chunks of the same kind are merged. */
  add(pieces: RecordedPieces): void {
    if (pieces[0] === 'call') this.#pieces.push([...pieces])
    else if (pieces[0] === 'arguments') {
      const [, index, ...texts] = pieces
      for (const json of texts) this.#addArguments(index, json)
    } else {
      const [kind, ...texts] = pieces
      for (const text of texts) this.#addText(kind, text)
    }
  }

  #addText(kind: 'text' | 'reasoning', text: string): void {
    const last = this.#pieces.at(-1)
    if (last?.[0] === kind) last.push(text)
    else this.#pieces.push([kind, text])
  }

  #addArguments(index: number, json: string): void {
    const last = this.#pieces.at(-1)
    if (last?.[0] === 'arguments' && last[1] === index) last.push(json)
    else this.#pieces.push(['arguments', index, json])
  }
}

/** Replays chunks to a sink. Each chunk gets its own microtask, so that a listener can respond to it before the next chunk. */
export async function playPieces(stream: readonly RecordedPieces[], sink: ModelSink | undefined): Promise<void> {
  for (const pieces of stream) {
    if (pieces[0] === 'call') sink?.toolCallStart?.(pieces[1], pieces[2], pieces[3])
    else if (pieces[0] === 'arguments') {
      const [, index, ...texts] = pieces
      for (const json of texts) await played(() => sink?.toolCallDelta?.(index, json))
    } else {
      const [kind, ...texts] = pieces
      for (const text of texts) await played(() => sink?.[kind]?.(text))
    }
  }
}

async function played(play: () => void): Promise<void> {
  play()
  await undefined
}

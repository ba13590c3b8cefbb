import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'

class PlainState implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined
  messages: UIMessage[] = []
  pushMessage = (message: UIMessage) => {
    this.messages = [...this.messages, message]
  }
  popMessage = () => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.map((one, at) => (at === index ? structuredClone(message) : one))
  }
  snapshot = <T>(thing: T): T => structuredClone(thing)
}

/** The parts of `useChat`, without React. */
export class Chat extends AbstractChat<UIMessage> {
  constructor(init: Omit<ChatInit<UIMessage>, 'messages'>) {
    super({ ...init, state: new PlainState() })
  }
}

export function chatAt(url: string, init: Omit<ChatInit<UIMessage>, 'transport' | 'messages'> = {}): Chat {
  return new Chat({ ...init, transport: new DefaultChatTransport({ api: `${url}/chat` }) })
}

export const userMessage = (text: string): UIMessage => ({ id: 'u1', role: 'user', parts: [{ type: 'text', text }] })

/** What the transport makes of a stream: chunks, validated by the client, and the message they become. */
export async function readChunks(
  stream: ReadableStream<UIMessageChunk>,
): Promise<{ chunks: UIMessageChunk[]; message: UIMessage | undefined; errors: unknown[] }> {
  const [one, two] = stream.tee()
  const chunks: UIMessageChunk[] = []
  const errors: unknown[] = []
  let message: UIMessage | undefined
  const reading = (async () => {
    for await (const snapshot of readUIMessageStream({ stream: two, onError: (error) => errors.push(error) })) message = snapshot
  })()
  for await (const chunk of one) chunks.push(chunk)
  await reading
  return { chunks, message, errors }
}

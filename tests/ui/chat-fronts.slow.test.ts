import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HttpAgent, type Interrupt, type RunFinishedEvent } from '@ag-ui/client'
import {
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Chat, chatAt } from './chat.ts'

const program = fileURLToPath(new URL('chat-process.ts', import.meta.url))
let folder: string
let running: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chats-'))
})
afterEach(async () => {
  for (const child of running) await stop(child)
  running = []
  rmSync(folder, { recursive: true, force: true })
})

/** A process of the backend, using the same files as every other. */
async function start(): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  running.push(child)
  const [line] = await once(child.stdout, 'data')
  return { url: String(line).trim(), child }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** A device that loads the chat: its page has what the server has stored. */
async function deviceAt(url: string): Promise<Chat> {
  const chat = chatAt(url, {
    id: 'c1',
    sendAutomaticallyWhen: (options) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(options) || lastAssistantMessageIsCompleteWithToolCalls(options),
  })
  chat.messages = await stored(url)
  return chat
}

const stored = async (url: string) => (await (await fetch(`${url}/chat?id=c1`)).json()) as UIMessage[]
const textsOf = (messages: readonly UIMessage[]) =>
  messages.map(({ role, parts }) => `${role}: ${parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}`)
const lastCall = ({ lastMessage }: Chat) => lastMessage?.parts.findLast(isToolUIPart)
/** What a page shows of its messages, and their ids. Who decided is stored with the run, not in the conversation. */
const shown = (messages: readonly UIMessage[]) =>
  JSON.parse(JSON.stringify(messages)).map(({ id, role, parts }: UIMessage) => ({
    id,
    role,
    parts: parts.flatMap((part) => {
      if (part.type === 'data-decision') return []
      if (!isToolUIPart(part)) return { type: part.type, text: part.type === 'text' ? part.text : undefined }
      const { type, toolCallId, state, input, output, errorText } = part
      return { type, toolCallId, state, input, output, errorText }
    }),
  }))

describe('useChat on two devices, with a restarted server', () => {
  it('P3.10 P3.11 a reloaded page has the messages, ids and waiting approval of the first one, and decides on it', async () => {
    const first = await start()
    const chat = await deviceAt(first.url)
    await chat.sendMessage({ text: 'hello' })
    await chat.sendMessage({ text: 'call refund' })
    expect(lastCall(chat)).toMatchObject({ state: 'approval-requested' })
    await stop(first.child)

    const second = await start()
    const other = await deviceAt(second.url)
    expect(shown(other.messages)).toEqual(shown(chat.messages))
    const { approval } = lastCall(other) as { approval: { id: string } }
    await other.addToolApprovalResponse({ id: approval.id, approved: true })
    await expect.poll(() => other.status).toBe('ready')
    expect(lastCall(other)).toMatchObject({ state: 'output-available', output: { paid: 7 } })
    expect(shown(await stored(second.url))).toEqual(shown(other.messages))
    expect(other.messages).toHaveLength(4)

    await other.sendMessage({ text: 'call refund' })
    const again = lastCall(other) as { approval: { id: string } }
    await other.addToolApprovalResponse({ id: again.approval.id, approved: false, reason: 'too much' })
    await expect.poll(() => other.status).toBe('ready')
    expect(lastCall(other)).toMatchObject({ state: 'output-denied' })
    expect(shown(await stored(second.url))).toEqual(shown(other.messages))
    expect(lastCall(await deviceAt(second.url))).toMatchObject({ approval: { approved: false, reason: 'too much' } })
  })

  it('P3.10 a question and a call of the page’s own tool wait on the other device, too', async () => {
    const [first, second] = await Promise.all([start(), start()])
    for (const [tool, output] of [
      ['book', '2'],
      ['pick', 'a.txt'],
    ] as const) {
      const chat = await deviceAt(first.url)
      await chat.sendMessage({ text: `call ${tool}` })
      const other = await deviceAt(second.url)
      expect(shown(other.messages)).toEqual(shown(chat.messages))
      const question = other.lastMessage?.parts.find(({ type }) => type === 'data-question')
      expect(question).toEqual(chat.lastMessage?.parts.find(({ type }) => type === 'data-question'))
      expect(question !== undefined).toBe(tool === 'book')
      const { toolCallId } = lastCall(other) as { toolCallId: string }
      await other.addToolOutput({ tool, toolCallId, output } as never)
      await expect.poll(() => other.status).toBe('ready')
      expect(textsOf(other.messages).at(-1)).toContain(output)
    }
  })

  it('P3.11 regenerate() replaces the answer, and an edit replaces the message and all after it: the session has each once', async () => {
    const { url } = await start()
    const chat = await deviceAt(url)
    await chat.sendMessage({ text: 'one' })
    await chat.sendMessage({ text: 'two' })
    await chat.regenerate()
    expect(textsOf(chat.messages)).toEqual(['user: one', 'assistant: 1: one', 'user: two', 'assistant: 3: one / 1: one / two'])
    expect(shown(await stored(url))).toEqual(shown(chat.messages))
    // On a device that was reloaded, and by the id of a reply.
    const other = await deviceAt(url)
    await other.regenerate({ messageId: other.messages[1]?.id })
    expect(textsOf(other.messages)).toEqual(['user: one', 'assistant: 4: one'])
    expect(shown(await stored(url))).toEqual(shown(other.messages))
    await other.sendMessage({ text: 'three' })
    await other.sendMessage({ text: 'uno', messageId: other.messages[0]?.id })
    expect(textsOf(await stored(url))).toEqual(['user: uno', 'assistant: 6: uno'])
    expect(shown(await stored(url))).toEqual(shown(other.messages))
  })

  it('P3.11 a message that is edited while its call waits for approval leaves nothing to approve', async () => {
    const { url } = await start()
    const chat = await deviceAt(url)
    await chat.sendMessage({ text: 'call refund' })
    const { approval } = lastCall(chat) as { approval: { id: string } }
    const stale = await deviceAt(url)
    await chat.sendMessage({ text: 'never mind', messageId: chat.messages[0]?.id })
    expect(textsOf(await stored(url))).toEqual(['user: never mind', 'assistant: 1: never mind'])
    // The other device approves what it still shows, but nothing waits for that.
    await stale.addToolApprovalResponse({ id: approval.id, approved: true })
    await expect.poll(() => stale.status).toBe('error')
    expect(textsOf(await stored(url))).toEqual(['user: never mind', 'assistant: 1: never mind'])
  })
})

describe('AG-UI on two devices, with a restarted server', () => {
  /** A device and how it asks: it only knows the interrupts it received last. */
  function agentAt(url: string) {
    const agent = new HttpAgent({ url: `${url}/agui`, threadId: 't1' })
    const ask = async (path: string, parameters: Parameters<HttpAgent['runAgent']>[0] = {}) => {
      agent.url = `${url}${path}`
      let interrupts: Interrupt[] = []
      const onRunFinishedEvent = ({ event: { outcome } }: { event: RunFinishedEvent }) => {
        if (outcome?.type === 'interrupt') interrupts = outcome.interrupts
      }
      await agent.runAgent(parameters, { onRunFinishedEvent })
      return interrupts
    }
    const say = (content: string, id: string = crypto.randomUUID()) => agent.addMessage({ id, role: 'user', content })
    const told = () => agent.messages.map(({ role, content }) => `${role}: ${content}`)
    return { agent, ask, say, told }
  }

  it('P3.10 P3.11 toAgUiSnapshot has the messages and interrupts; a known message is replaced', async () => {
    const first = await start()
    const one = agentAt(first.url)
    one.say('hello', 'm1')
    await one.ask('/agui')
    one.say('call refund', 'm2')
    const [interrupt] = await one.ask('/agui')
    expect(interrupt?.reason).toBe('tool_call')
    await stop(first.child)

    const second = await start()
    const other = agentAt(second.url)
    const [again] = await other.ask('/agui/connect')
    expect(again).toEqual(interrupt)
    expect(other.told()).toEqual(one.told())
    await other.ask('/agui', { resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: { approved: true } }] })
    expect(other.told().slice(0, 5)).toEqual([
      'user: hello',
      'assistant: 1: hello',
      'user: call refund',
      'assistant: One moment. ',
      'tool: {"paid":7}',
    ])
    const third = agentAt(second.url)
    await third.ask('/agui/connect')
    expect(third.told()).toEqual(other.told())
    expect(new Set(third.agent.messages.map(({ id }) => id)).size).toBe(6)

    // The page goes back to its second message.
    third.agent.setMessages(third.agent.messages.slice(0, 2))
    third.say('thanks', 'm2')
    await third.ask('/agui')
    const last = agentAt(second.url)
    expect(await last.ask('/agui/connect')).toEqual([])
    expect(last.told()).toEqual(['user: hello', 'assistant: 1: hello', 'user: thanks', 'assistant: 2: hello / 1: hello / thanks'])
    expect(last.agent.messages.map(({ id }) => id)).toEqual(['m1', 'm1-1', 'm2', 'm2-1'])
  })
})

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, textOf } from '../../src/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const model = scriptedModel(({ messages }) => {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  const name = /name is (\w+)/.exec(said.join(' '))?.[1] ?? 'nobody'
  return said.at(-1)?.endsWith('?') ? `You are ${name}.` : `Hello ${name}.`
})
const folder = process.env.DATA_FOLDER ?? mkdtempSync(join(tmpdir(), 'chats-'))
const sessions = sqliteSessions({ file: join(folder, 'sessions.sqlite') })
const runner = new AgentRunner({ model, sessions })

// The second run, in this process or another, continues the conversation of the first.
await runner.run('My name is Ann.', { session: 'user-17/chat-1' })
const { output } = await runner.run('What is my name?', { session: 'user-17/chat-1' })
console.log(output)

// The user edits the first message: fork the messages before it, and send the new one.
const edited = await sessions.fork('user-17/chat-1', { at: 0, to: 'user-17/chat-2' })
await runner.run('My name is Bob.', { session: edited })

// List the user's conversations, and read one of them.
const { sessions: chats } = await sessions.list({ prefix: 'user-17/', limit: 20 })
console.log(chats.map(({ id, status, messageCount }) => `${id} ${status} ${messageCount}`))
console.log((await sessions.read('user-17/chat-2')).map(({ role, content }) => `${role}: ${textOf(content)}`))
await sessions.close()

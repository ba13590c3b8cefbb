import { AgentRunner, defineTool, type Guardrail, type Hooks } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const mail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail.',
  parameters: { type: 'object', properties: { to: { type: 'string' }, text: { type: 'string' } }, required: ['to', 'text'] },
  execute: ({ to, text }) => `sent to ${to}: ${text}`,
})

/** A hook: it runs in every turn and around every call. */
const signature: Hooks = {
  name: 'signature',
  beforeModel: ({ iteration }) => (iteration > 3 ? { tools: [], toolChoice: 'none' } : undefined),
  beforeTool: ({ args }) => ({ args: { ...args, text: `${args.text} – The shop` } }),
}

/** A rule that must hold: if the check itself fails, the call is refused. */
const ownDomain: Guardrail = {
  name: 'own domain only',
  call: ({ args }) => (String(args.to).endsWith('@example.com') ? undefined : { refuse: 'mail goes to example.com only' }),
  output: ({ text }) => (text.includes('@') ? { replace: text.replaceAll(/\S+@\S+/g, '(address)') } : undefined),
}

const model = scriptedModel([
  {
    toolCalls: [
      { name: 'send_mail', args: { to: 'ann@example.com', text: 'Hello' } },
      { name: 'send_mail', args: { to: 'eve@example.org', text: 'Hello' } },
    ],
  },
  'I wrote to ann@example.com and not to Eve.',
])
const runner = new AgentRunner({ model, tools: [mail], hooks: [signature], guardrails: [ownDomain] })
const { output, toolCalls } = await runner.run('Write to Ann and Eve.')
for (const { content } of toolCalls) console.log(content)
console.log(output)

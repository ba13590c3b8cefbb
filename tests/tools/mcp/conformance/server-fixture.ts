import { completable, inputRequired, type McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { askClientModel, askClientRoots } from '../../../../src/tools/mcp/index.ts'
import { type AnyTool, ask, askAll, defineTool, type JsonSchema, type Question } from '../../../../src/tools/tool.ts'

/** A picture of 1 × 1 pixel, and an empty WAV file. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA='

const text = (name: string, said: string): AnyTool => defineTool({ name, description: `Says: ${said}`, execute: () => said })
const parts = (name: string, content: readonly object[]): AnyTool =>
  defineTool({ name, description: 'Returns content.', execute: () => content, toContent: (value) => value as never })

/** Asks once and returns the answer. */
const asks = (name: string, message: string, schema: JsonSchema, told: (answer: never) => string, key?: string): AnyTool =>
  defineTool({
    name,
    description: 'Asks the user.',
    execute: (_args, { answer }) =>
      answer === undefined ? ask({ about: { message, ...(key && { name: key }) }, schema }) : told(answer as never),
  })
/** The same for any question. */
const asked = (name: string, question: Question): AnyTool =>
  defineTool({ name, description: 'Asks.', execute: (_args, { answer }) => answer ?? question })
const form = (properties: Record<string, object>): JsonSchema => ({ type: 'object', properties, required: Object.keys(properties) })
const asJson = (answer: unknown) => `Elicitation completed: action=accept, content=${JSON.stringify(answer)}`

const image = { type: 'image', data: png, mediaType: 'image/png' }
const file = { type: 'file', data: Buffer.from('{"test":"data"}').toString('base64'), mediaType: 'application/json', name: 'data.json' }

/** The tools that the suite calls by name, as far as it needs only tools. */
export const conformanceTools: readonly AnyTool[] = [
  text('test_simple_text', 'This is a simple text response for testing.'),
  parts('test_image_content', [image]),
  parts('test_audio_content', [{ type: 'file', data: wav, mediaType: 'audio/wav' }]),
  parts('test_embedded_resource', [file]),
  parts('test_multiple_content_types', [{ type: 'text', text: 'Multiple content types test:' }, image, file]),
  defineTool({
    name: 'test_error_handling',
    description: 'Fails.',
    execute: () => {
      throw new Error('This tool intentionally returns an error for testing')
    },
  }),
  defineTool({
    name: 'test_tool_with_progress',
    description: 'Reports.',
    execute: (_args, { progress }) => {
      for (const done of [0, 50, 100]) progress({ progress: done, total: 100 })
      return 'done'
    },
  }),
  defineTool({
    name: 'json_schema_2020_12_tool',
    description: 'Has a schema of 2020-12.',
    parameters: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // As a text, because an object with `then` looks like a promise.
      ...JSON.parse('{ "then": { "required": ["phone"] } }'),
      else: { required: ['email'] },
      additionalProperties: false,
    },
    execute: (args) => args,
  }),
  defineTool({
    name: 'test_elicitation',
    description: 'Asks who it is.',
    parameters: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    execute: ({ message }, { answer }) =>
      answer === undefined
        ? ask({ about: { message }, schema: form({ username: { type: 'string' }, email: { type: 'string' } }) })
        : `User response: action: accept, content: ${JSON.stringify(answer)}`,
  }),
  asks(
    'test_elicitation_sep1034_defaults',
    'Please review.',
    form({
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
    asJson,
  ),
  asks(
    'test_elicitation_sep1330_enums',
    'Please choose.',
    form({
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: ['1', '2', '3'].map((n) => ({ const: `value${n}`, title: `Option ${n}` })) },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: { type: 'array', items: { anyOf: ['1', '2', '3'].map((n) => ({ const: `value${n}`, title: `Choice ${n}` })) } },
    }),
    asJson,
  ),
  asks(
    'test_input_required_result_elicitation',
    'What is your name?',
    form({ name: { type: 'string' } }),
    ({ name }) => `Hello, ${name}!`,
    'user_name',
  ),
  asks('test_input_required_result_request_state', 'Please confirm', form({ ok: { type: 'boolean' } }), () => 'state-ok'),
  asks('test_input_required_result_tampered_state', 'Please confirm', form({ ok: { type: 'boolean' } }), () => 'state-ok'),
  asks('test_streaming_elicitation', 'Please confirm', form({ ok: { type: 'boolean' } }), () => 'ok'),
  defineTool({
    name: 'test_input_required_result_multi_round',
    description: 'Asks twice.',
    execute: (_args, { answer, asked }) => {
      if (answer === undefined) return ask({ about: { message: 'Step 1: What is your name?' }, schema: form({ name: { type: 'string' } }) })
      const isFirst = JSON.stringify(asked).includes('Step 1')
      return isFirst ? ask({ about: { message: 'Step 2: Colour?' }, schema: form({ color: { type: 'string' } }) }) : 'Both are known.'
    },
  }),
  ...['test_tool_with_logging', 'test_logging_tool'].map((name) =>
    defineTool({
      name,
      description: 'Logs.',
      execute: (_args, { logger }) => {
        for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) logger.info({}, message)
        return 'logged'
      },
    }),
  ),
  defineTool({
    name: 'test_sampling',
    description: 'Asks the model.',
    parameters: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
    execute: ({ prompt }, { answer }) =>
      answer === undefined ? askClientModel({ messages: prompt, maxOutputTokens: 100 }) : `LLM response: ${JSON.stringify(answer)}`,
  }),
  asked('test_input_required_result_sampling', askClientModel({ messages: 'What is the capital of France?', maxOutputTokens: 100 })),
  asked('test_input_required_result_list_roots', askClientRoots()),
  asked(
    'test_input_required_result_multiple_inputs',
    askAll({
      user_name: ask({ about: { message: 'What is your name?' }, schema: form({ name: { type: 'string' } }) }),
      greeting: askClientModel({ messages: 'Generate a greeting', maxOutputTokens: 50 }),
      client_roots: askClientRoots(),
    }),
  ),
  asked('test_missing_capability', askClientModel({ messages: 'Hello' })),
  defineTool({
    name: 'test_input_required_result_capabilities',
    description: 'Asks whomever it can.',
    execute: (_args, { answer, mcpClient }) => {
      if (answer !== undefined) return 'ok'
      return mcpClient?.asksUser === true ? ask({ about: 'Is it?' }) : askClientModel({ messages: 'Is it?' })
    },
  }),
]

/** Lets the suite change what is offered. */
export const changingTools = (change: () => Promise<void>): AnyTool[] =>
  ['test_trigger_tool_change', 'test_trigger_prompt_change'].map((name) =>
    defineTool({ name, description: 'Changes what is offered.', execute: change }),
  )

/** Resources, prompts and completions, registered through the SDK. */
export function extendServer(server: McpServer): void {
  server.server.registerCapabilities({ resources: { subscribe: true } })
  for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const) server.server.setRequestHandler(method, () => ({}))
  const fixed = (uri: string, content: object) => ({ contents: [{ uri, ...content }] }) as never
  const staticText = { mimeType: 'text/plain', text: 'This is the content of the static text resource.' }
  server.registerResource('static-text', 'test://static-text', { mimeType: 'text/plain' }, () => fixed('test://static-text', staticText))
  const binary = { mimeType: 'image/png', blob: png }
  server.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/png' }, () => fixed('test://static-binary', binary))
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    ({ href }, { id }) =>
      fixed(href, { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }),
  )
  const said = (content: object) => ({ messages: [{ role: 'user', content }] }) as never
  server.registerPrompt('test_simple_prompt', { description: 'Simple.' }, () => said({ type: 'text', text: 'This is a simple prompt.' }))
  const argsSchema = z.object({ arg1: completable(z.string(), () => ['paris', 'park']), arg2: z.string() })
  server.registerPrompt('test_prompt_with_arguments', { description: 'With arguments.', argsSchema }, ({ arg1, arg2 }) =>
    said({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource.', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => said({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content.' } }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'With an image.' }, () =>
    said({ type: 'image', data: png, mimeType: 'image/png' }),
  )
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks.' }, (ctx) => {
    if (ctx.mcpReq.inputResponses !== undefined) return said({ type: 'text', text: 'With its context.' })
    const requestedSchema = { type: 'object' as const, properties: { context: { type: 'string' as const } }, required: ['context'] }
    const message = 'What context should the prompt use?'
    return inputRequired({ inputRequests: { user_context: inputRequired.elicit({ message, requestedSchema }) } }) as never
  })
}

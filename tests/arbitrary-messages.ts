import fc from 'fast-check'
import type { ChatMessage } from '../src/core/messages.ts'
import { anyCharacter, anyUrl } from './any-text.ts'

const word = fc.string({ maxLength: 12, unit: anyCharacter })
const name = fc.option(fc.string({ maxLength: 8 }), { nil: undefined })
const extras = fc.dictionary(
  fc.constantFrom('weight', 'metadata', 'reasoning_content', 'refusal', '__proto__', 'constructor', 'toolCalls'),
  fc.jsonValue(),
  {
    maxKeys: 2,
    noNullPrototype: true,
  },
)

/** Removes undefined fields, as JSON would. */
function present(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

const openAIPart = fc.oneof(
  fc.record({ type: fc.constant('text'), text: word }),
  fc.record({ type: fc.constant('refusal'), refusal: word }),
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({ url: anyUrl, detail: fc.constant('low') }, { requiredKeys: ['url'], noNullPrototype: true }),
  }),
  fc.record({
    type: fc.constant('file'),
    file: fc.record({ file_data: word, file_id: word, filename: word }, { requiredKeys: [], noNullPrototype: true }),
  }),
  fc.record({
    type: fc.constant('input_audio'),
    input_audio: fc.record({ data: word, format: fc.constantFrom('wav', 'mp3') }, { noNullPrototype: true }),
  }),
)
const openAIContent = fc.oneof(word, fc.constant(null), fc.constant(undefined), fc.array(openAIPart, { maxLength: 3 }))
const id = fc.oneof(fc.string({ minLength: 1, maxLength: 6 }), fc.nat(), fc.constant(undefined))
const openAICall = fc.oneof(
  fc
    .record({
      id,
      type: fc.constant('function'),
      function: fc.record(
        { name: word, arguments: fc.oneof(word, fc.json(), fc.object({ withNullPrototype: false })) },
        { noNullPrototype: true },
      ),
      extra_content: fc.option(fc.jsonValue(), { nil: undefined }),
    })
    .map((fields) => JSON.parse(JSON.stringify(fields))),
  fc.record({ id, type: fc.constant('custom'), custom: fc.record({ name: word, input: word }, { noNullPrototype: true }) }).map(present),
)
/** Any plausible message of the Chat Completions API, with the irregularities that occur. */
export const openAIMessage: fc.Arbitrary<object> = fc
  .tuple(
    fc.oneof(
      fc.record({ role: fc.constantFrom('system', 'developer', 'user'), content: openAIContent, name }),
      fc.record({
        role: fc.constant('assistant'),
        content: openAIContent,
        name,
        tool_calls: fc.option(fc.array(openAICall, { maxLength: 3 }), { nil: undefined }),
      }),
      fc.record({
        role: fc.constant('assistant'),
        content: openAIContent,
        function_call: fc.oneof(
          fc.constant(null),
          fc.record({ name: fc.constantFrom('f', 'g'), arguments: fc.json() }, { noNullPrototype: true }),
        ),
      }),
      fc.record({ role: fc.constant('function'), content: openAIContent, name: fc.constantFrom('f', 'g') }),
      fc.record({ role: fc.constant('tool'), content: openAIContent, tool_call_id: fc.string({ maxLength: 6 }), name }),
    ),
    extras,
  )
  .map(([fields, more]) => JSON.parse(JSON.stringify(present(Object.fromEntries([...Object.entries(more), ...Object.entries(fields)])))))

const ourPart = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: word }, { noNullPrototype: true }),
  fc.record({ type: fc.constant('image' as const), url: word }, { noNullPrototype: true }),
  fc.record({ type: fc.constant('file' as const), url: word, name: word }, { requiredKeys: ['type', 'url'], noNullPrototype: true }),
)
const ourCall = fc.record(
  { id: word, type: fc.constant('function' as const), function: fc.record({ name: word, arguments: word }, { noNullPrototype: true }) },
  { noNullPrototype: true },
)
/** Messages without what Chat Completions can't express: a result's name and failure, inline data, other providers' data. */
export const carriedMessage: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.record(
    { role: fc.constant('system' as const), content: word, name: word },
    { requiredKeys: ['role', 'content'], noNullPrototype: true },
  ),
  fc.record(
    { role: fc.constant('user' as const), content: fc.oneof(word, fc.array(ourPart, { maxLength: 3 })), name: word },
    { requiredKeys: ['role', 'content'], noNullPrototype: true },
  ),
  fc.record(
    { role: fc.constant('assistant' as const), content: word, toolCalls: fc.array(ourCall, { minLength: 1, maxLength: 3 }), name: word },
    { requiredKeys: ['role', 'content'], noNullPrototype: true },
  ),
  fc.record({ role: fc.constant('tool' as const), content: word, toolCallId: word }, { noNullPrototype: true }),
)

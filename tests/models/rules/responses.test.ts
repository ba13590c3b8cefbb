import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/messages.ts'
import { refuseResponse } from './responses.ts'

describe('what the Responses API would refuse', () => {
  const said = { role: 'user', content: 'Hello' }
  const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'seen' }
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }
  const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false }
  const inputs: [reason: RegExp, input: JsonObject[], more?: JsonObject][] = [
    [/No tool output found for function call call_1/, [said, call]],
    [/No tool call found for custom tool call output/, [said, call, { ...output, type: 'custom_tool_call_output' }]],
    [/Duplicate item found with call_id call_1/, [said, call, output, call, output]],
    [
      /Duplicate item found with id fc_1/,
      [{ ...call, id: 'fc_1' }, output, { ...call, id: 'fc_1', call_id: 'b' }, { ...output, call_id: 'b' }],
    ],
    [/begins with 'fc'/, [{ ...call, id: 'call_1' }, output]],
    [/without its required following item/, [said, thought, said]],
    [/without its required following item/, [said, thought]],
    [/Items are not persisted when `store` is set to false/, [{ ...thought, encrypted_content: null }, call, output], { store: false }],
    [/summary/, [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed' }, call, output]],
    [/Invalid value: 'tool'/, [{ role: 'tool', content: 'x' }]],
    [/Invalid value: 'tool_use'/, [{ type: 'tool_use', content: 'x' }]],
    [/input_text/, [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]],
    [/output_text/, [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }]],
    [/content/, [{ role: 'user' }]],
    [/call_id/, [{ ...call, call_id: '' }]],
    [/maximum length 64/, [{ ...call, call_id: 'x'.repeat(65) }]],
    [/name/, [{ ...call, name: 'a b' }]],
    [/arguments/, [{ type: 'function_call', call_id: 'a', name: 'look' }]],
    [/input/, []],
    [/'messages'/, [said], { messages: [] }],
    [/max_output_tokens/, [said], { max_output_tokens: 15 }],
    [/stream_options/, [said], { stream_options: {} }],
    [/tools\[0\].function/, [said], { tools: [{ type: 'function', function: { name: 'look' } }] }],
    [/defined twice/, [said], { tools: [tool, tool] }],
    [/pattern/, [said], { tools: [{ ...tool, name: 'a b' }] }],
    [/type: "object"/, [said], { tools: [{ type: 'function', name: 'look' }] }],
    [/missing properties/, [said], { tools: [{ ...tool, parameters: { type: 'object' } }] }],
    [/anyOf/, [said], { tools: [{ ...tool, parameters: { type: 'object', properties: {}, anyOf: [] } }] }],
    [/not found in 'tools'/, [said], { tools: [tool], tool_choice: { type: 'function', name: 'other' } }],
    [/must be specified with 'tools'/, [said], { tool_choice: 'required' }],
  ]
  it.each(inputs)('%s', (reason, input, more = {}) => {
    expect(refuseResponse({ model: 'm', input, ...more })).toMatch(reason)
  })

  it('does not include a valid request', () => {
    const input = [said, thought, { ...call, id: 'fc_1' }, output, said]
    expect(refuseResponse({ model: 'm', input, store: false, tools: [tool, { type: 'web_search' }], tool_choice: 'auto' })).toBeUndefined()
    expect(refuseResponse({ model: 'm', input: [{ ...thought, encrypted_content: null }, call, output] })).toBeUndefined()
    expect(refuseResponse({ input })).toMatch(/model/)
  })
})

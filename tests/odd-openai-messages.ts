export const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }
export const parts = [
  { type: 'text', text: 'one ' },
  { type: 'text', text: 'two' },
]

/** Lists of messages found in practice, by what is odd about them. */
export const oddLists: Record<string, object[]> = {
  'nothing at all': [],
  'the plain four': [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '1 + 2?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', content: '3', tool_call_id: 'call_1' },
    { role: 'assistant', content: 'Three.' },
  ],
  'empty texts': [
    { role: 'system', content: '' },
    { role: 'user', content: '' },
    { role: 'assistant', content: '' },
    { role: 'tool', content: '', tool_call_id: '' },
  ],
  'the developer role': [{ role: 'developer', content: 'Be brief.', name: 'dev' }],
  'the developer role, in parts': [{ role: 'developer', content: parts }],
  'parts in every role': [
    { role: 'system', content: parts },
    { role: 'user', content: parts },
    { role: 'assistant', content: parts },
    { role: 'tool', content: parts, tool_call_id: 'x' },
  ],
  'no parts': [
    { role: 'system', content: [] },
    { role: 'user', content: [] },
    { role: 'assistant', content: [] },
    { role: 'tool', content: [], tool_call_id: 'x' },
  ],
  'one part, or parts that join to another message’s text': [
    { role: 'user', content: [{ type: 'text', text: 'one two' }] },
    { role: 'system', content: [{ type: 'text', text: 'one two' }] },
    { role: 'system', content: 'one two' },
  ],
  images: [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/i.png' } }] },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/i.png', detail: 'low' } }] },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
    { role: 'user', content: [{ type: 'image_url', image_url: 'https://not/an/object' }] },
    { role: 'user', content: [{ type: 'image_url' }] },
  ],
  files: [
    { role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } }] },
    { role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==' } }] },
    { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] },
    { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1', file_data: 'data:,x', filename: 1 } }] },
  ],
  audio: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Listen:' },
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      ],
    },
    { role: 'assistant', audio: { id: 'audio_1' } },
    { role: 'assistant', content: null, audio: null },
  ],
  'parts nobody has heard of': [
    {
      role: 'user',
      content: [{ type: 'video_url', video_url: { url: 'https://x' } }, { type: 'text' }, { text: 'untyped' }, {}, 'bare', null, 7],
    },
    { role: 'tool', content: [{ type: 'image_url', image_url: { url: 'https://x' } }, 'bare', null], tool_call_id: 'x' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'Yes.' },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
  ],
  refusals: [
    { role: 'assistant', content: null, refusal: 'I can’t.' },
    { role: 'assistant', refusal: 'I can’t.' },
    { role: 'assistant', content: 'Well.', refusal: null },
    { role: 'assistant', content: 'Well.', refusal: 'No.' },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Well. ' },
        { type: 'refusal', refusal: 'No.' },
      ],
      refusal: 'No.',
    },
  ],
  'the legacy function call': [
    { role: 'assistant', content: null, function_call: { name: 'add', arguments: '{"a":1}' } },
    { role: 'function', name: 'add', content: '3' },
    { role: 'assistant', content: null, function_call: { name: 'add', arguments: '' } },
    { role: 'function', name: 'add', content: null },
    { role: 'function', name: 'nobody called', content: '4' },
    { role: 'assistant', content: 'Also text.', function_call: { name: 'no_arguments' } },
    { role: 'assistant', content: '', function_call: { name: 'object', arguments: { a: 1 } } },
    { role: 'assistant', content: 'x', function_call: null, tool_calls: null },
    { role: 'assistant', content: 'x', function_call: 'auto' },
  ],
  'both kinds of call': [{ role: 'assistant', content: null, function_call: { name: 'old', arguments: '{}' }, tool_calls: [call] }],
  'content null or absent': [
    { role: 'assistant', content: null },
    { role: 'assistant' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'assistant', content: '', tool_calls: [call] },
    { role: 'assistant', content: 'x', tool_calls: [call] },
    { role: 'user', content: null },
    { role: 'user' },
    { role: 'system', content: null },
    { role: 'system' },
    { role: 'tool', content: null, tool_call_id: 'x' },
    { role: 'tool', tool_call_id: 'x' },
  ],
  'calls that are odd': [
    { role: 'assistant', content: null, tool_calls: [] },
    { role: 'assistant', content: 'x', tool_calls: [] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, index: 0 }] },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: call.function }] },
    { role: 'assistant', content: null, tool_calls: [{ type: 'function', function: call.function }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id: null }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id: '' }, call, call] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id: 7 }] },
    { role: 'tool', content: '3', tool_call_id: 7 },
    { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: 'f', arguments: { a: 1 } } }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: 'f', arguments: null } }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: 'f' } }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: '', arguments: 'not JSON', parsed_arguments: null } }] },
  ],
  'custom tools': [
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'code', input: 'print(1)' } }, call] },
  ],
  'extras of other providers': [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ ...call, extra_content: { google: { thought_signature: 'c2ln' } } }],
      extra_content: { google: { thought: true } },
    },
    { role: 'assistant', content: 'x', reasoning_content: 'hm' },
    { role: 'assistant', content: '', reasoning_content: '', tool_calls: [call] },
    { role: 'assistant', content: null, reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }], prefix: true },
  ],
  'unknown fields': [
    { role: 'user', content: 'x', weight: 0, metadata: { a: [1, null, { b: false }] }, empty: {}, none: null },
    { role: 'tool', content: 'x', tool_call_id: 'x', name: 'add', is_error: true, artifact: [] },
    { role: 'assistant', content: 'x', annotations: [], parsed: null, id: 'msg_1' },
  ],
  'unknown fields with the names of ours': [
    { role: 'assistant', content: 'x', toolCalls: [call], providerData: { provider: 'x', data: {} } },
    { role: 'tool', content: 'x', tool_call_id: 'a', toolCallId: 'b', isError: true },
  ],
  'names that every object inherits': [
    JSON.parse('{"role":"user","content":"x","__proto__":{"polluted":true},"constructor":"c","toString":1,"hasOwnProperty":null}'),
    JSON.parse('{"role":"assistant","content":[{"type":"x","__proto__":{"a":1}}],"valueOf":{"__proto__":2}}'),
  ],
  names: [
    { role: 'system', content: 'x', name: 'a' },
    { role: 'user', content: 'x', name: '' },
    { role: 'assistant', content: 'x', name: 'b' },
    { role: 'assistant', content: null, name: 'c', tool_calls: [call] },
    { role: 'user', content: 'x', name: null },
    { role: 'user', content: 'x', name: 7 },
  ],
  'control characters and emoji': [{ role: 'user', content: '\u0000 \u2028 🙂', name: '\u2029' }],
}

import { createTextToolParser } from '../../src/dialects/index.ts'

// A model without function calling writes calls as text. The parser finds them live, in chunks of any size.
const parser = createTextToolParser({ dialect: 'tool-action' })
const chunks = ['Let me look. <tool_act', 'ion name="weather"><city value="Os', 'lo" /></tool_action>', 'Done.']

for (const chunk of chunks) {
  for (const event of parser.push(chunk)) {
    if (event.type === 'text') console.log('text', event.text)
    if (event.type === 'call') console.log('call', event.name, JSON.stringify(event.arguments))
  }
}
for (const event of parser.end()) console.log(event.type)

import { redact, redactText } from '../../src/index.ts'

console.log(redact({ user: 'ann', password: 'swordfish', headers: { authorization: 'Bearer abc.def.ghi' } }))
console.log(redactText('curl -H "x-api-key: a1b2c3d4" https://ann:swordfish@example.com'))

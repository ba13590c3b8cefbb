// Loads ajv when it is first needed, because loading it at startup would take 30 to 60 milliseconds (`npm run bench`, start.ts). The file
// is CommonJS, because `require` is synchronous and bundlers follow it.
exports.loadAjv = () => require('ajv')
exports.loadAjv2020 = () => require('ajv/dist/2020.js')
exports.loadAjvFormats = () => require('ajv-formats')

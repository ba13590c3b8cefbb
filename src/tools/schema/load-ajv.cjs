// Loaded on first use, because loading takes milliseconds of each start (ajv: 30 to 60; `npm run bench`, start.ts). CommonJS, because
// `require` is synchronous and bundlers follow it.
exports.loadAjv = () => require('ajv')
exports.loadAjv2020 = () => require('ajv/dist/2020.js')
exports.loadAjvFormats = () => require('ajv-formats')

// CommonJS, because its `require` is synchronous, waits until it is called, and is followed by bundlers: of an ES module's imports none is all three.
exports.loadAjv = () => require('ajv')
exports.loadAjv2020 = () => require('ajv/dist/2020.js')
exports.loadAjvFormats = () => require('ajv-formats')

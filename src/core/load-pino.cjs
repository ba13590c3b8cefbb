// CommonJS, because its `require` is synchronous, waits until it is called, and is followed by bundlers: of an ES module's imports none is all three.
exports.loadPino = () => require('pino')

// Loads pino when it is first needed, because loading it at startup would take 15 to 20 milliseconds (`npm run bench`, start.ts). The file
// is CommonJS, because `require` is synchronous and bundlers follow it.
exports.loadPino = () => require('pino')

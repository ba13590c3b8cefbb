// Loading a package takes milliseconds at startup (pino: 15 to 20; `npm run bench`, start.ts), so it is loaded when it is first needed.
// CommonJS, because `require` is synchronous and bundlers follow it.
exports.loadPino = () => require('pino')

// CommonJS, because its `require` allows our own message for a missing package, and bundlers follow it.
exports.loadApi = () => require('@opentelemetry/api')

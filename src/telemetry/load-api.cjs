// CommonJS, because its `require` tells a missing package in words of our own, and is followed by bundlers.
exports.loadApi = () => require('@opentelemetry/api')

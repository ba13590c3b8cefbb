// This file is CommonJS. A `require` lets the caller give its own error for a missing package, and bundlers follow it.
exports.loadApi = () => require('@opentelemetry/api')

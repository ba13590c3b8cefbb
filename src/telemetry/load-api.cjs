// This file is CommonJS, because the error of its `require` can be replaced by a helpful one, and because bundlers follow a `require`.
exports.loadApi = () => require('@opentelemetry/api')

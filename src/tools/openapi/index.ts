/** `toolloop/openapi`: tools that call the operations of a web API, from its OpenAPI description. */
export { type OpenApiOptions, openApiTools } from './openapi-tools.ts'
export type { Method as OpenApiMethod } from './operations.ts'
export type { OpenApiResult } from './send-operation.ts'

export { type OpenApiOptions, openApiTools } from './openapi-tools.ts'
export type { Method as OpenApiMethod } from './operations.ts'
export type { OpenApiResult } from './send-operation.ts'

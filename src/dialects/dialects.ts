import type { Dialect } from './dialect.ts'
import { glm } from './formats/glm.ts'
import { hermes } from './formats/hermes.ts'
import { invoke } from './formats/invoke.ts'
import { json } from './formats/json.ts'
import { mistral } from './formats/mistral.ts'
import { pythonic } from './formats/pythonic.ts'
import { qwenCoder } from './formats/qwen-coder.ts'
import { react } from './formats/react.ts'
import { salvage } from './formats/salvage.ts'
import { toolAction } from './formats/tool-action.ts'

/** The bundled dialects. */
export const dialects: readonly Dialect[] = [toolAction, hermes, json, qwenCoder, glm, mistral, pythonic, invoke, salvage, react]

import type { Dialect } from './dialect.ts'
import { glm } from './glm.ts'
import { hermes } from './hermes.ts'
import { invoke } from './invoke.ts'
import { json } from './json.ts'
import { mistral } from './mistral.ts'
import { pythonic } from './pythonic.ts'
import { qwenCoder } from './qwen-coder.ts'
import { react } from './react.ts'
import { salvage } from './salvage.ts'
import { toolAction } from './tool-action.ts'

/** The dialects that come with the package, found by their names. */
export const dialects: readonly Dialect[] = [toolAction, hermes, json, qwenCoder, glm, mistral, pythonic, invoke, salvage, react]

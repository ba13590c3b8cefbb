import { resolveSelfForTools } from '../../src/cli/setup/resolve-self.ts'

/** For `node --import`: a program that imports `toolloop` gets this package, from `src`. */
resolveSelfForTools()

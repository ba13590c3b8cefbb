import { resolveSelfForTools } from '../../src/cli/setup/resolve-self.ts'

/** For `node --import`: a program gets this package, from `src`, where it imports `toolloop`. */
resolveSelfForTools()

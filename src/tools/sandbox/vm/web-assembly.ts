/** A compiled module. The types of Node.js rely on browser types for WebAssembly, so the parts that are used here are declared here. */
export type CompiledModule = object

interface WebAssemblyApi {
  /** Compiles a module in the background. */
  compile(bytes: Uint8Array): Promise<CompiledModule>
}

export const webAssembly: WebAssemblyApi = Reflect.get(globalThis, 'WebAssembly')

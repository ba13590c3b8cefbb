/** A compiled module. Node.js's types leave WebAssembly to those of browsers, so what is used of it is said here. */
export type CompiledModule = object

interface WebAssemblyApi {
  /** In the background. */
  compile(bytes: Uint8Array): Promise<CompiledModule>
}

export const webAssembly: WebAssemblyApi = Reflect.get(globalThis, 'WebAssembly')

/** Of the whole of undici, for those who have a proxy. It is CommonJS: imported dynamically itself, it has no names in a bundle of esbuild. */
export { EnvHttpProxyAgent } from 'undici'

esbuild main.ts --bundle --platform=node --format=esm --splitting --outdir=out --out-extension:.js=.mjs \
  --banner:js="import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)"

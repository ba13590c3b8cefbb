esbuild main.ts --bundle --platform=node --format=cjs --outfile=out/main.cjs
node --build-sea sea.json # Node.js 26; before, --experimental-sea-config and postject

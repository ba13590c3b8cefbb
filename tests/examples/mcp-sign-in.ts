import { connectMcpServers, openLoopbackSignIn } from '../../src/tools/mcp/index.ts'

// Waits on 127.0.0.1 until the browser returns. The tokens are stored, so the user signs in only once.
const signIn = await openLoopbackSignIn({ show: ({ server, url }) => console.log(`Sign in to ${server}: ${url}`) })
const { authorize, redirectUrl } = signIn
const tools = await connectMcpServers({ wiki: { url: process.env.WIKI_URL ?? '', auth: { authorize, redirectUrl } } })
console.log(tools.names())
await tools.close()
await signIn[Symbol.asyncDispose]()

/** `toolloop/backends`: LangChain's loop as the backend of an agent. Experimental: it may change in any release. */
export { type Backend, type BackendOptions, backends, createAgentRunner } from './create-agent-runner.ts'
export { fromLangChainTools, type LangChainTool } from './langchain-tools.ts'

export { type Backend, type BackendOptions, backends, createAgentRunner } from './create-agent-runner.ts'
export { fromLangChainTools, type LangChainTool } from './langchain-tools.ts'

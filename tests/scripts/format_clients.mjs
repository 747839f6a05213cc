// Serves what format_streams printed from the loopback and lets the official clients read it.
// Usage: node format_clients.mjs FOLDER_WITH_NODE_MODULES < streams.json
// Prints {format: {scene: {stream: seen, reply: seen}}}, `seen` being text, calls, usage and end.
import {createServer} from "node:http";
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const require = createRequire(pathToFileURL(process.argv[2] + "/x.js"));
const OpenAI = require("openai").default;
const Anthropic = require("@anthropic-ai/sdk").default;
const written = JSON.parse(readFileSync(0, "utf8"));
const formats = {
  "/openai/chat/completions": "openai_chat",
  "/openai/responses": "openai_responses",
  "/anthropic/v1/messages": "anthropic",
};

// The model's name says which scene is wanted.
const server = createServer((request, response) => {
  let text = "";
  request.on("data", (piece) => (text += piece));
  request.on("end", () => {
    const body = JSON.parse(text);
    const scene = written[formats[request.url.split("?")[0]]][body.model];
    response.setHeader("content-type", body.stream ? "text/event-stream" : "application/json");
    response.end(body.stream ? scene.stream : scene.reply);
  });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${server.address().port}`;
const openai = new OpenAI({apiKey: "k", baseURL: `${base}/openai`, maxRetries: 0});
const anthropic = new Anthropic({apiKey: "k", baseURL: `${base}/anthropic`, maxRetries: 0});
const messages = [{role: "user", content: "hi"}];

const seenChat = (done) => ({
  text: done.choices[0].message.content,
  calls: (done.choices[0].message.tool_calls ?? []).map((call) => [
    call.id, call.function.name, JSON.parse(call.function.arguments)]),
  usage: [done.usage.prompt_tokens, done.usage.completion_tokens],
  end: done.choices[0].finish_reason,
});
const seenResponse = (done) => ({
  text: done.output_text,
  calls: done.output.filter((item) => item.type === "function_call").map((item) => [
    item.call_id, item.name, JSON.parse(item.arguments)]),
  usage: [done.usage.input_tokens, done.usage.output_tokens],
  end: done.status,
});
const seenMessage = (done) => ({
  text: done.content.filter((block) => block.type === "text").map((block) => block.text).join(""),
  calls: done.content.filter((block) => block.type === "tool_use").map((block) => [
    block.id, block.name, block.input]),
  usage: [done.usage.input_tokens + done.usage.cache_read_input_tokens, done.usage.output_tokens],
  end: done.stop_reason,
});

const seen = {openai_chat: {}, openai_responses: {}, anthropic: {}};
for (const model of ["text", "calls"]) {
  const chat = {model, messages, stream_options: {include_usage: true}};
  const items = {model, input: "hi"};
  const blocks = {model, messages, max_tokens: 100};
  seen.openai_chat[model] = {
    stream: seenChat(await openai.chat.completions.stream(chat).finalChatCompletion()),
    reply: seenChat(await openai.chat.completions.create({model, messages})),
  };
  seen.openai_responses[model] = {
    stream: seenResponse(await openai.responses.stream(items).finalResponse()),
    reply: seenResponse(await openai.responses.create(items)),
  };
  seen.anthropic[model] = {
    stream: seenMessage(await anthropic.messages.stream(blocks).finalMessage()),
    reply: seenMessage(await anthropic.messages.create(blocks)),
  };
}
console.log(JSON.stringify(seen));
server.closeAllConnections();
server.close();

// Scenes of gateway_clients.mjs about /v1/responses: the frameworks that use it by default or when
// told to, and the client of OpenAI before version 7.
export const responses_scenes = ({ OpenAI, createOpenAI, ai, ChatOpenAI, messages, z, behind, baseURL }) => {
  const model = behind.openai_chat;
  const vercel = createOpenAI({ baseURL, apiKey: "any" });
  const chain = (fields) => new ChatOpenAI({ model, apiKey: "any", configuration: { baseURL },
    useResponsesApi: true, ...fields });
  const weather = (asked) => ai.tool({ inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => { asked.push(city); return "rain"; } });
  const log_length = async (id) => {
    const url = baseURL.replace(/\/v1$/, `/api/v1/conversations/${id}/messages`);
    return (await (await fetch(url)).json()).data.length;
  };
  return {
    async vercel_responses_answer_and_stream_with_every_format_behind() {
      const seen = {};
      for (const [format, name] of Object.entries(behind)) {
        const plain = await ai.generateText({ model: vercel(name), prompt: "Hello" });
        const stream = ai.streamText({ model: vercel(name), prompt: "Hello" });
        let text = "";
        for await (const piece of stream.textStream) text += piece;
        seen[format] = [plain.text, text];
      }
      return seen;
    },
    async vercel_responses_refer_to_items_of_earlier_answers() {
      const history = [{ role: "user", content: "one" }];
      const first = await ai.generateText({ model: vercel(model), messages: history });
      history.push(...first.response.messages, { role: "user", content: "two" });
      return (await ai.generateText({ model: vercel(model), messages: history })).text;
    },
    async vercel_responses_continue_by_id() {
      const first = await ai.generateText({ model: vercel(model), prompt: "one" });
      const second = await ai.generateText({ model: vercel(model), prompt: "two", providerOptions: {
        openai: { previousResponseId: first.providerMetadata.openai.responseId } } });
      return second.text;
    },
    async vercel_responses_use_tools_with_every_format_behind() {
      const seen = {};
      for (const [format, name] of Object.entries(behind)) {
        const asked = [];
        const plain = await ai.generateText({ model: vercel(name), prompt: "the weather?",
          tools: { get_weather: weather(asked) }, stopWhen: ai.stepCountIs(3) });
        const stream = ai.streamText({ model: vercel(name), prompt: "the weather?",
          tools: { get_weather: weather(asked) }, stopWhen: ai.stepCountIs(3) });
        await stream.consumeStream();
        seen[format] = [plain.text, await stream.text, asked];
      }
      return seen;
    },
    // It sends its whole history at each step, the model's items by their ids.
    async vercel_responses_remember_by_header() {
      const seen = {};
      for (const [format, name] of Object.entries(behind)) {
        const id = `vercel-responses-${format}`, asked = [];
        const named = createOpenAI({ baseURL, apiKey: "any", headers: { "X-Conversation-Id": id } });
        const history = [{ role: "user", content: "the weather?" }];
        const first = await ai.generateText({ model: named(name), messages: history,
          system: "Be brief.", tools: { get_weather: weather(asked) }, stopWhen: ai.stepCountIs(3) });
        history.push(...first.response.messages, { role: "user", content: "and then?" });
        const second = await ai.generateText({ model: named(name), messages: history });
        seen[format] = [first.text, second.text.includes("and then?"), await log_length(id)];
      }
      return seen;
    },
    // It sends what was asked and all results at each step, and none of the model's items.
    async vercel_responses_use_tools_in_a_conversation() {
      const seen = {};
      for (const [format, name] of Object.entries(behind)) {
        const { id } = await new OpenAI({ baseURL, apiKey: "any" }).conversations.create({});
        const options = { model: vercel(name), tools: { get_weather: weather([]) },
          stopWhen: ai.stepCountIs(3), providerOptions: { openai: { conversation: id } } };
        const first = await ai.generateText({ ...options, prompt: "the weather?" });
        const second = await ai.generateText({ ...options, prompt: "the weather now?" });
        seen[format] = [first.text, second.text, await log_length(id)];
      }
      return seen;
    },
    async langchain_responses_answer_and_stream() {
      const first = await chain().invoke([new messages.HumanMessage("one")]);
      const second = await chain().invoke([new messages.HumanMessage("two")],
        { previous_response_id: first.response_metadata.id });
      let text = "";
      for await (const chunk of await chain({ streaming: true }).stream([new messages.HumanMessage("Hello")]))
        text += chunk.text;
      return [first.text, second.text, text];
    },
    async openai_6_uses_responses_and_conversations() {
      const client = new OpenAI({ baseURL, apiKey: "any" });
      const { id } = await client.conversations.create({});
      const made = await client.responses.create({ model, input: "one", conversation: id });
      const stream = client.responses.stream({ model, input: "two", conversation: id });
      const final = await stream.finalResponse();
      const items = await client.conversations.items.list(id, { order: "asc" });
      return [made.output_text, final.output_text, items.data.length];
    },
  };
};

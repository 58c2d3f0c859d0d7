/** The OpenAI SDK for TypeScript: audio, images, moderation, embeddings. */
import OpenAI, { toFile } from "openai";
import { env } from "node:process";

const client = new OpenAI();
const sound = () => toFile(Buffer.from("RIFF not quite a sound"), "meeting.wav", { type: "audio/wav" });
const picture = () => toFile(Buffer.from("not quite a picture"), "pixel.png", { type: "image/png" });

console.log(
  JSON.stringify({
    transcription: (
      await client.audio.transcriptions.create({ file: await sound(), model: env.TRANSCRIPTION })
    ).text,
    translation: (await client.audio.translations.create({ file: await sound(), model: env.TRANSCRIPTION }))
      .text,
    speech: await (
      await client.audio.speech.create({ model: env.SPEECH, voice: "alloy", input: "greet me" })
    ).text(),
    images: (await client.images.generate({ model: env.IMAGES, prompt: "a pixel" })).data[0].b64_json,
    "images/edits": (
      await client.images.edit({ model: env.IMAGES, image: await picture(), prompt: "a pixel" })
    ).data[0].b64_json,
    moderation: (await client.moderations.create({ model: env.MODERATION, input: "greet me" })).results[0]
      .flagged,
    embeddings: (await client.embeddings.create({ model: env.EMBEDDINGS, input: ["one", "two"] })).data.map(
      ({ embedding }) => embedding,
    ),
  }),
);

"""The OpenAI SDK for Python: audio, images, moderation, embeddings."""

import json
import os

from openai import OpenAI

client = OpenAI()
env = os.environ
SOUND = ("meeting.wav", b"RIFF not quite a sound", "audio/wav")
PICTURE = ("pixel.png", b"not quite a picture", "image/png")

print(
    json.dumps(
        {
            "transcription": client.audio.transcriptions.create(file=SOUND, model=env["TRANSCRIPTION"]).text,
            "translation": client.audio.translations.create(file=SOUND, model=env["TRANSCRIPTION"]).text,
            "speech": client.audio.speech.create(model=env["SPEECH"], voice="alloy", input="greet me").text,
            "images": client.images.generate(model=env["IMAGES"], prompt="a pixel").data[0].b64_json,
            "images/edits": client.images.edit(model=env["IMAGES"], image=PICTURE, prompt="a pixel")
            .data[0]
            .b64_json,
            "moderation": client.moderations.create(model=env["MODERATION"], input="greet me")
            .results[0]
            .flagged,
            "embeddings": [
                one.embedding
                for one in client.embeddings.create(model=env["EMBEDDINGS"], input=["one", "two"]).data
            ],
        }
    )
)

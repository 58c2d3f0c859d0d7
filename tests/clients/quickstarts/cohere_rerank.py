"""Cohere's SDK for Python: rerank on both of its paths. Address and key come from CO_API_URL and CO_API_KEY."""

import json
import os

import cohere

MODEL = os.environ["RERANK"]


def rerank(client):
    answer = client.rerank(model=MODEL, query="which", documents=["one", "two"])
    return [one.index for one in answer.results]


print(json.dumps({"rerank v1": rerank(cohere.Client()), "rerank v2": rerank(cohere.ClientV2())}))

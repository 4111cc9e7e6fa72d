"""What routes answer, as types: the OpenAPI document is made of them, and tests hold them true."""

"""The corpus: networks written in the usual ways."""

import attention
import hugging_face
import images
import others
import transformer_models

NETWORKS = [
    *others.NETWORKS,
    *images.NETWORKS,
    *attention.NETWORKS,
    *transformer_models.NETWORKS,
    *hugging_face.NETWORKS,
]

"""The corpus: networks written in the usual ways."""

import attention
import hugging_face
import images
import others

NETWORKS = [
    *others.NETWORKS,
    *images.NETWORKS,
    *attention.NETWORKS,
    *hugging_face.NETWORKS,
]

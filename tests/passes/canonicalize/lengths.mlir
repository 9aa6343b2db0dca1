// adc opt --passes=canonicalize,dce
// The lengths of the first elements and of the rest of an array add up to its length.

func.func @f(%x: memref<?xf64>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %first = arith.minsi %n, %c2 : index
  %left = arith.subi %n, %c2 : index
  %rest = arith.maxsi %left, %c0 : index
  %all = arith.addi %first, %rest : index
  %others = arith.subi %n, %first : index
  %last = arith.subi %n, %rest : index
  func.return %all, %others, %last : index, index, index
}

// becomes
func.func @f(%x: memref<?xf64>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c-2 = arith.constant -2 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.addi %n, %c-2 : index
  %others = arith.maxsi %0, %c0 : index
  %last = arith.minsi %n, %c2 : index
  func.return %n, %others, %last : index, index, index
}
